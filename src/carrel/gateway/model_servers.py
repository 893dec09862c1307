"""Well-known model servers: where each listens and where its key usually is. A guide has the same list."""

from collections.abc import Sequence

from msgspec import Struct

from carrel.kernel import Refusal, invalid


class ModelServer(Struct, frozen=True, kw_only=True):
    """A server by its name."""

    base_url: str
    key_env: str = ""
    # How to start it, shown to people whose server does not answer.
    start: str = ""
    # The dialect it was built for, if the richest one it speaks is an imitation or a draft.
    kind: str = ""

    def best_of(self, kinds: Sequence[str]) -> str:
        """Return the richest of the dialects that the server speaks."""
        return self.kind if self.kind in kinds else kinds[0]


MODEL_SERVERS = {
    "ollama": ModelServer(base_url="http://127.0.0.1:11434", start="Run: ollama serve"),
    "lmstudio": ModelServer(base_url="http://127.0.0.1:1234", start="Start the server in LM Studio's Developer tab."),
    "llamacpp": ModelServer(base_url="http://127.0.0.1:8080", start="Run: llama-server -m MODEL.gguf"),
    "vllm": ModelServer(base_url="http://127.0.0.1:8000", start="Run: vllm serve MODEL"),
    "openai": ModelServer(base_url="https://api.openai.com", key_env="OPENAI_API_KEY"),
    "anthropic": ModelServer(base_url="https://api.anthropic.com", key_env="ANTHROPIC_API_KEY", kind="anthropic"),
    "openclaw": ModelServer(
        base_url="http://127.0.0.1:18789",
        key_env="OPENCLAW_GATEWAY_TOKEN",
        start="Run: openclaw gateway",
        kind="openclaw",
    ),
    "openrouter": ModelServer(base_url="https://openrouter.ai/api", key_env="OPENROUTER_API_KEY", kind="chat"),
}


def model_server(named: str) -> ModelServer:
    """Return the server with a name or at a URL; otherwise raise Refusal with the closest name."""
    if named in MODEL_SERVERS:
        return MODEL_SERVERS[named]
    if "://" in named or "." in named or ":" in named:
        return ModelServer(base_url=named if "://" in named else f"http://{named}")
    meant = Refusal.nearest(named, MODEL_SERVERS)
    hint = f"did you mean {meant}?" if meant else f"name one of {', '.join(MODEL_SERVERS)}, or a URL."
    raise invalid("server", f"There is no server '{named[:80]}'; {hint}")
