"""The program that the foreign interpreter runs: a llama.cpp server on a free port, until its standard input ends.

Arguments: the weights, the model's name, how many tokens prompt and answer may have together, how many an answer.
"""

import sys

import xllamacpp  # type: ignore[import-not-found]


def main() -> None:
    """Serve."""
    weights, name, context_tokens, answer_tokens = sys.argv[1:]
    wanted = xllamacpp.CommonParams()
    wanted.model.path = weights
    wanted.model_alias = {name}
    wanted.n_ctx = int(context_tokens)
    wanted.n_predict = int(answer_tokens)
    wanted.n_parallel = 1
    # Its threads wait by spinning: two of them on a busy machine of two cores get nowhere.
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = 1
    # Nothing is left to chance: equal prompts get equal answers.
    wanted.sampling.temp = 0
    server = xllamacpp.Server(wanted)
    sys.stdout.write(f"listening {server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
