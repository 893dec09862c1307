"""The servers that people have, by their names."""

from carrel.gateway import MODEL_SERVERS


def test_a_server_is_talked_to_in_the_dialect_that_it_is_made_for() -> None:
    assert MODEL_SERVERS["anthropic"].best_of(("chat", "anthropic")) == "anthropic"
    assert MODEL_SERVERS["openrouter"].best_of(("responses", "chat", "anthropic")) == "chat"


def test_of_other_servers_the_richest_dialect_is_used() -> None:
    assert MODEL_SERVERS["ollama"].best_of(("responses", "chat")) == "responses"
    assert MODEL_SERVERS["anthropic"].best_of(("chat",)) == "chat"
