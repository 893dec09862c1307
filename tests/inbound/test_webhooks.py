"""Settings of webhooks: a few lines are enough, and every mistake is reported before anything starts."""

from pathlib import Path

import pytest

from carrel.inbound import Webhooks
from carrel.kernel import Refusal
from carrel.kernel.settings import WebhookSettings
from carrel.main.settings import SettingsFault, load
from tests.requirements.mark import requirement

GITHUB = """
[webhooks.github]
kind = "github"
secret_env = "GITHUB_WEBHOOK_SECRET"
action = "task"
"""


def problems(folder: Path, text: str) -> list[str]:
    file = folder / "carrel.toml"
    file.write_text(text)
    with pytest.raises(SettingsFault) as fault:
        load(file, {}, {})
    return fault.value.problems


@requirement("P.webhook.settings")
def test_four_lines_make_a_webhook(tmp_path: Path) -> None:
    file = tmp_path / "carrel.toml"
    file.write_text(GITHUB)
    loaded = load(file, {}, {})
    expected = WebhookSettings(kind="github", secret_env="GITHUB_WEBHOOK_SECRET", action="task")
    assert loaded.settings.webhooks == {"github": expected}
    assert Webhooks({}).of_account("default") == []


@requirement("P.webhook.settings")
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('secret_file = "x"', "set either webhooks.github.secret_env or webhooks.github.secret_file"),
        ('agent = "main"', 'webhooks.github.agent: only a webhook with action = "message" uses it.'),
        ('signature_header = "X"', 'webhooks.github.signature_header: only a webhook of kind = "json" uses it'),
        ('title = "{issue..title}"', "webhooks.github.title: has {issue..title}, which is no path"),
        ('text = "a } b"', "webhooks.github.text: has a } that belongs to no path"),
        ('tittle = "x"', "unknown setting; did you mean webhooks.github.title?"),
        ("events = 7", "must be a list of strings"),
    ],
)
def test_a_mistake_is_reported_with_what_to_do(tmp_path: Path, line: str, problem: str) -> None:
    (found,) = problems(tmp_path, GITHUB + line)
    assert problem in found


@requirement("P.webhook.settings")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[webhooks.a]\nkind = "json"', "without a secret anybody could post"),
        ('[webhooks.a]\nsecret_env = "not a name"', "and not the secret itself"),
        ('[webhooks.a]\nsecret_env = "A"\nassignee = "b"', 'only a webhook with action = "task" uses it'),
        ('[webhooks.a]\nsecret_env = "A"\nagent = "b"\nsession = "c"', "keep one of them"),
        ('[webhooks.a]\nsecret_env = "A"\nevent_header = "a b"', "must have the name of a header"),
        ('[webhooks.a]\nsecret_env = "A"\nkind = "gitlab"', "must be one of github, linear, slack, json"),
        ('[webhooks."A b"]\nsecret_env = "A"', "lower-case letters and digits"),
        ('[webhooks.deliveries]\nsecret_env = "A"', "a webhook cannot be called deliveries"),
    ],
)
def test_what_is_no_webhook_is_reported(tmp_path: Path, text: str, problem: str) -> None:
    assert any(problem in found for found in problems(tmp_path, text))


@requirement("P.webhook.secret")
def test_a_secret_that_cannot_be_had_is_reported_with_its_setting(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"webhooks\.a\.secret_env names the environment variable NOT_SET"):
        Webhooks({"a": WebhookSettings(secret_env="NOT_SET")})
    file = tmp_path / "secret"
    file.write_text("a-secret\n")
    file.chmod(0o644)
    with pytest.raises(Refusal, match=r"webhooks\.a\.secret_file, .*others than its owner may read"):
        Webhooks({"a": WebhookSettings(secret_file=str(file))})
    file.chmod(0o600)
    assert [one.name for one in Webhooks({"a": WebhookSettings(secret_file=str(file))}).of_account("default")] == ["a"]


@requirement("P.webhook.secret")
def test_the_file_of_a_secret_is_looked_for_beside_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "carrel.toml"
    file.write_text('[webhooks.a]\nsecret_file = "hook.secret"\n')
    loaded = load(file, {}, {})
    assert loaded.settings.webhooks["a"].secret_file == str(tmp_path / "hook.secret")
