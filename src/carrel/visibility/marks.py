"""The rule as marks of the index: a viewer finds things that share a name with it in one of its spaces. Pure."""

from functools import lru_cache
from hashlib import blake2b
from typing import Literal

import msgspec
from msgspec import Struct


class Findable(Struct, frozen=True, kw_only=True):
    """The properties that decide who may find a thing."""

    # The spaces in which it is visible.
    spaces: tuple[str, ...] = ()
    # Topics, tasks and notes are kept: everybody in their spaces finds them.
    is_kept: bool = False
    on_board: bool = False
    # Whose chat it was said in; None if people share the session.
    private_to: str | None = None
    session_key: str | None = None
    # Whether its session finds it in any space: it belongs nowhere else, or was said in a person's chat.
    is_alone: bool = False
    # The task that it belongs to, and the task that it is.
    task_id: str | None = None
    own_id: str | None = None

    def names(self) -> tuple[str, ...]:
        """Return the names under which it is found in its spaces."""
        names = ["owner"]
        if self.is_kept or self.on_board:
            names.append("all" if self.is_kept else "board")
        else:
            names.append("users" if self.private_to is None else f"user {self.private_to}")
        if not self.is_kept and self.session_key is not None:
            names.append(f"session {self.session_key}")
        return (*names, *self.names_anywhere())

    def names_anywhere(self) -> tuple[str, ...]:
        """Return the names under which its session, person, task's lanes and workers find it in any space."""
        person = None if self.is_kept else self.private_to or None
        named = (("task", self.task_id), ("work", self.own_id), ("session", self._alone), ("chats of", person))
        return tuple(f"{kind} {name}" for kind, name in named if name is not None)

    @property
    def _alone(self) -> str | None:
        is_alone = self.is_alone and not self.is_kept and self.session_key is not None
        return f"{self.session_key} alone" if is_alone else None

    def marks(self, account_id: str) -> tuple[str, ...]:
        return _marks_of(self, account_id)


class Viewer(Struct, frozen=True, kw_only=True):
    """Who searches: an owner finds everything, a user shared things and their own chats, a lane what it recalls."""

    kind: Literal["lane", "user", "owner"] = "lane"
    # The spaces to look in; None for the whole account.
    spaces: tuple[str, ...] | None = None
    user_id: str = ""
    # The lane, its task, and whether it recalls the board.
    session_key: str | None = None
    task_id: str | None = None
    recalls_board: bool = False
    # Whether it named no spaces: then it also finds its own chats or session outside its spaces.
    looks_everywhere: bool = True
    # Tasks that it works on: they are found in any space.
    own_tasks: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        """Return the names that it searches under in its spaces."""
        if self.kind == "owner":
            return ("owner",)
        if self.kind == "user":
            return ("all", "board", "users", f"user {self.user_id}")
        board = ("board",) if self.recalls_board else ()
        named = (("session", self.session_key), ("task", self.task_id))
        return ("all", *board, *(f"{kind} {name}" for kind, name in named if name is not None))

    def names_anywhere(self) -> tuple[str, ...]:
        """Return the names that it searches under in all spaces."""
        if self.kind == "user":
            return (f"chats of {self.user_id}",) if self.looks_everywhere else ()
        if self.kind == "owner":
            return ()
        task = (f"task {self.task_id}",) if self.task_id in self.own_tasks else ()
        has_session = self.session_key is not None and self.looks_everywhere
        session = (f"session {self.session_key} alone",) if has_session else ()
        return (*task, *session, *(f"work {task_id}" for task_id in self.own_tasks))

    def marks(self, account_id: str) -> tuple[str, ...]:
        """Return its marks; everything it finds must have one of them."""
        spaces = (None,) if self.spaces is None else tuple(dict.fromkeys(self.spaces))
        inside = (mark("v", account_id, name, space) for name in self.names() for space in spaces)
        return (*inside, *(mark("v", account_id, name, None) for name in self.names_anywhere()))


# What is said in a session can be found by the same viewers.
@lru_cache(maxsize=4096)
def _marks_of(thing: Findable, account_id: str) -> tuple[str, ...]:
    return tuple(mark("v", account_id, name, space) for name in thing.names() for space in (*thing.spaces, None))


@lru_cache(maxsize=16_384)
def mark(kind: str, account_id: str, *names: str | None) -> str:
    """Return a token that equals no word, since words have no underscore."""
    named = msgspec.json.encode((account_id, *names))
    return f"{kind}_{blake2b(named, digest_size=10).hexdigest()}"


def space_mark(account_id: str, name: str | None) -> str:
    """Return the mark of everything visible in a space, or anywhere: owners find all of it."""
    return mark("v", account_id, "owner", name)


def session_mark(account_id: str, session_key: str) -> str:
    """Return the mark of everything said in a session."""
    return mark("v", account_id, f"session {session_key}", None)


def is_mark(term: str) -> bool:
    """Return whether a term of a document is a mark rather than a word."""
    return "_" in term
