"""What an access may, by its kind."""

import pytest

from carrel.kernel import (
    Access,
    Code,
    Refusal,
)


def test_access_refuses_every_kind_that_is_not_listed() -> None:
    access = Access(account_id="acc_1", account_slug="default", kind="client", actor_id="tok_1")
    access.require("owner", "client")
    assert not access.is_person
    with pytest.raises(Refusal) as caught:
        access.require("owner", "user")
    assert caught.value.code == Code.FORBIDDEN
