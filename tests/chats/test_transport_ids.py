"""Ids of people and chats on channels: keys and actors hold their hashes, and what holds them still is not logged."""

import pytest

from carrel.chats import chat_key, hide_transport_ids, person_id
from carrel.kernel import caller_hash
from tests.requirements.mark import requirement

CHAT, TOPIC = caller_hash("-100777"), caller_hash("-100777:42")


def test_keys_and_actors_name_chats_and_people_by_a_hash() -> None:
    assert chat_key("telegram", "group", -100777) == f"telegram:group:{CHAT}"
    assert chat_key("telegram", "group", -100777, 42) == f"telegram:group:{CHAT}:thread:{TOPIC}"
    assert person_id("telegram", 1001) == f"telegram:{caller_hash('1001')}"


@requirement("I.transport")
@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        ("agent:main:telegram:group:-100777", f"agent:main:telegram:group:{CHAT}"),
        ("agent:main:telegram:group:-100777:thread:42", f"agent:main:telegram:group:{CHAT}:thread:{TOPIC}"),
        ("agent:main:telegram:group:-100777:v2", f"agent:main:telegram:group:{CHAT}:v2"),
        ("/api/sessions/agent%3Amain%3Atelegram%3Agroup%3A-100777/reset",
         f"/api/sessions/agent%3Amain%3Atelegram%3Agroup%3A{CHAT}/reset"),
        ("group:-100777", f"group:{CHAT}"),
        ("agent:main:whatsapp:direct:491701234567", f"agent:main:whatsapp:direct:{caller_hash('491701234567')}"),
        ('{"actor":"telegram:1001","x":1}', f'{{"actor":"telegram:{caller_hash("1001")}","x":1}}'),
        ("agent:main:task:t1 and telegram:c-01abc stay", "agent:main:task:t1 and telegram:c-01abc stay"),
    ],
)  # fmt: skip
def test_an_id_is_hidden_wherever_a_line_holds_one_and_what_is_hidden_stays(line: str, hidden: str) -> None:
    assert hide_transport_ids(line) == hidden
    assert hide_transport_ids(hidden) == hidden
