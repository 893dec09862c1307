"""The fixed sentences of the built-in agent, and how it knows its own earlier answers by them."""

FOUND = "This is what I can see about it:"
NOTHING = "I see nothing about that in this session or its context."
HEARD = "Heard."
NOTICE = (
    "I am the built-in agent, without a language model: I do no work of my own here, but I can quote this later and use"
    ' the tools I am offered. Say "help" to see how, or how to connect a model.'
)
INTRODUCTION = (
    "I am Carrel's built-in agent. No language model is connected, so I answer by quoting what I can see, and I use"
    " tools when you ask for them."
)
CONNECT = """To connect a model, write this into carrel.toml and start Carrel again:

[gateway.default]
kind = "responses"
base_url = "http://127.0.0.1:11434"
model = "the-model's-name\""""

_OPENINGS = (FOUND, NOTHING, HEARD, INTRODUCTION)


def is_own(text: str) -> bool:
    """Whether a message only repeats or introduces, so that quoting it would tell nobody anything."""
    return text.startswith(_OPENINGS)
