// Changes: shown at once, taken back when the server refuses, with its sentence, the request's id and a way to try again.

import { type QueryKey, useMutation, type UseMutationResult } from "@tanstack/react-query";
import { toast } from "../ui/toast";
import { Refusal } from "./api";
import { cache } from "./cache";

type Action<Input, Answer> = {
  /** Make the change on the server. */
  act: (input: Input) => Promise<Answer>;
  /** What did not happen, as the first words of the message when it fails: "The task was not moved". */
  failed: string;
  /** Change the cache as if it had succeeded; every query under `keys` is put back when it fails. */
  optimistic?: { keys: (input: Input) => QueryKey[]; change: (input: Input) => void };
  /** What to read again afterwards, where no event of the feed tells. */
  stale?: (input: Input) => QueryKey[];
  done?: (answer: Answer, input: Input) => void;
  /** Leave the failure to the caller, who shows it where the change was made. */
  quiet?: boolean;
};

type Kept = [QueryKey, unknown][];

/** Return a mutation whose change is optimistic where it can be, and whose failure is told. */
export function useAction<Input = void, Answer = unknown>(action: Action<Input, Answer>): UseMutationResult<Answer, Error, Input, Kept> {
  const mutation = useMutation<Answer, Error, Input, Kept>({
    mutationFn: action.act,
    async onMutate(input) {
      const kept: Kept = [];
      for (const queryKey of action.optimistic?.keys(input) ?? []) {
        await cache.cancelQueries({ queryKey });
        kept.push(...cache.getQueriesData({ queryKey }));
      }
      action.optimistic?.change(input);
      return kept;
    },
    onError(error, input, kept) {
      for (const [key, value] of kept ?? []) cache.setQueryData(key, value);
      if (!action.quiet) tellFailure(action.failed, error, () => mutation.mutate(input));
    },
    onSuccess: (answer, input) => action.done?.(answer, input),
    onSettled(_answer, _error, input) {
      const keys = [...(action.stale?.(input) ?? []), ...(action.optimistic?.keys(input) ?? [])];
      for (const queryKey of keys) void cache.invalidateQueries({ queryKey });
    },
  });
  return mutation;
}

/** Say in a toast what did not happen and why. */
export function tellFailure(failed: string, error: Error, retry?: () => void): void {
  toast({
    tone: "failure",
    text: `${failed}: ${error.message}`,
    note: error instanceof Refusal && error.requestId ? `Request ${error.requestId}` : undefined,
    action: retry && { label: "Retry", run: retry },
  });
}
