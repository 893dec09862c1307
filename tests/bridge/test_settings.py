"""Settings of a bridge: defaults, two spellings, and wrong ones."""

from pathlib import Path
from typing import Any

import pytest

from carrel.bridge import Bridge
from tests.bridge.road import Road
from tests.bridge.test_recorder import bridge_to, said
from tests.requirements.mark import requirement


@requirement("S4.bridge.knobs")
def test_a_bridge_that_is_turned_off_does_nothing(road: Road, path: str) -> None:
    with bridge_to(road, path, enabled=False) as bridge:
        bridge.record(said("hi"))
        assert bridge.context("s", "hi") == ""
        assert bridge.flush(0)
    assert road.asked == []
    assert not Path(path).exists()


@requirement("S4.bridge.knobs")
def test_settings_have_defaults_and_two_spellings(road: Road, path: str) -> None:
    with Bridge(base_url=road.url, queue_path=path) as bridge:
        settings = bridge.settings
    assert (settings.token, settings.enabled, settings.queue, settings.auto_topic_by_session) == (
        "",
        True,
        False,
        False,
    )
    assert (settings.context_augment, settings.context_mode, settings.context_fetch_timeout_ms) == (True, "auto", 1200)
    assert (settings.context_max_chars, settings.context_topic_limit) == (2200, 3)
    assert (settings.context_task_limit, settings.context_log_limit) == (3, 6)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "needs baseUrl"),
        ({"baseUrl": "http://x", "colour": 1}, "colour is not a setting of a bridge"),
        ({"baseUrl": "http://x", "queue": "yes"}, "queue must be of type bool"),
        ({"baseUrl": "http://x", "contextMode": "deep"}, "contextMode must be one of"),
        ({"baseUrl": "http://x", "contextFetchTimeoutMs": 0}, "must be more than 0"),
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        Bridge(**settings)
