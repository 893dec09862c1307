-- Topics, tasks and notes have a mark of their own among their terms, so that a word finds them however many entries have it.
UPDATE search_documents SET terms = 'k_kept ' || terms WHERE kind <> 'log';
