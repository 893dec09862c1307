"""Agent cards: where a client looks for one and which interface it chooses."""

from typing import Any

import pytest

from carrel.a2a import card_urls, choose_interface


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example", ["https://a.example/.well-known/agent-card.json", "https://a.example/.well-known/agent.json"]),
        ("https://a.example/x/", ["https://a.example/x/.well-known/agent-card.json", "https://a.example/x/.well-known/agent.json"]),
        ("https://a.example/cards/main.json", ["https://a.example/cards/main.json"]),
        (" http://a.example/card.json?v=2#top ", ["http://a.example/card.json?v=2"]),
    ],
)  # fmt: skip
def test_a_card_is_looked_for_at_the_well_known_urls(url: str, expected: list[str]) -> None:
    assert list(card_urls(url)) == expected


def offer(*interfaces: tuple[str, str], url: str = "https://a.example/a2a") -> dict[str, Any]:
    listed = [{"url": url, "protocolBinding": binding, "protocolVersion": version} for binding, version in interfaces]
    return {"supportedInterfaces": listed}


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        (offer(("HTTP+JSON", "1.0"), ("JSONRPC", "1.0")), ("JSONRPC", "1.0")),
        (offer(("JSONRPC", "0.3"), ("HTTP+JSON", "1.0")), ("HTTP+JSON", "1.0")),
        (offer(("GRPC", "1.0"), ("JSONRPC", "0.3.0")), ("JSONRPC", "0.3")),
        (offer(("JSONRPC", "1.0.1")), ("JSONRPC", "1.0")),
        ({"url": "https://a.example/"}, ("JSONRPC", "0.3")),
        (
            {"url": "https://a.example/", "protocolVersion": "0.2.6", "preferredTransport": "JSONRPC"},
            ("JSONRPC", "0.3"),
        ),
        (
            {
                "url": "https://a.example/grpc",
                "preferredTransport": "GRPC",
                "protocolVersion": "0.3.0",
                "additionalInterfaces": [{"url": "https://a.example/rpc", "transport": "JSONRPC"}],
            },
            ("JSONRPC", "0.3"),
        ),
    ],
)
def test_the_best_interface_of_a_card_is_chosen(card: dict[str, Any], expected: tuple[str, str]) -> None:
    interface = choose_interface(card, "https://a.example/.well-known/agent-card.json")
    assert (interface.binding, interface.version) == expected


@pytest.mark.parametrize(
    "card", [{}, offer(("GRPC", "1.0")), offer(("JSONRPC", "2.0")), offer(("HTTP+JSON", "0.3")), {"url": 7}]
)
def test_a_card_without_a_supported_interface_is_refused_with_those_supported(card: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"JSONRPC 1\.0, HTTP\+JSON 1\.0 or JSONRPC 0\.3"):
        choose_interface(card, "https://a.example/.well-known/agent-card.json")


def test_a_card_read_over_https_never_leads_to_plain_http() -> None:
    card = offer(("JSONRPC", "1.0"), url="http://a.example/a2a")
    with pytest.raises(ValueError, match="HTTPS if the card came over HTTPS"):
        choose_interface(card, "https://a.example/.well-known/agent-card.json")
    assert choose_interface(card, "http://a.example/card.json").url == "http://a.example/a2a"


def test_an_interface_url_may_be_relative_to_its_card() -> None:
    card = offer(("JSONRPC", "1.0"), url="/a2a/main")
    assert choose_interface(card, "https://a.example/cards/main.json").url == "https://a.example/a2a/main"
