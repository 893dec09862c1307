"""The fixed sentences of the built-in agent, by which it also recognises its own earlier answers."""

FOUND = "Here is what I found:"
NOTHING = "I found nothing about that in this session or its context."
NOTED = "Noted."
NOTICE = (
    "I'm the built-in agent and have no language model: I can quote this later and use the tools I'm given, but I can't"
    ' do the work itself. Say "help" to see what I can do and how to connect a model.'
)
INTRODUCTION = (
    "I'm Carrel's built-in agent. No language model is connected, so I answer by quoting what I can see, and I use"
    " tools when you ask me to."
)
CONNECT = """To connect a model, run this where the server was started; it takes effect without a restart:

carrel connect ollama

Instead of ollama, name lmstudio, llamacpp, vllm, openai, anthropic, openrouter or the URL of a model server."""

# Answers that are not posted anywhere.
NO_REPLY = "NO_REPLY"
HEARTBEAT_OK = "HEARTBEAT_OK"
TAKEN_UP = "I was assigned to this task:"
MOVE_HINT = 'To move it, say for example "move this to review".'
TOOK_UP = "I have taken this task up. The next time I go on with it."
FINISHED = "Nothing is left that I could do on this task, so I have marked it as done."

_OPENINGS = (FOUND, NOTHING, NOTED, INTRODUCTION, TAKEN_UP)


def is_own(text: str) -> bool:
    """Return whether a message only quotes or introduces, so that quoting it again would be useless."""
    return text.startswith(_OPENINGS)
