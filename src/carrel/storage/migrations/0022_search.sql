-- Search: what can be found, under which words and marks, and with which meaning.

-- `number` is its row in the index of words; `version` is new with every change, so that readers load what changed.
-- `speaker` and `label` are words as they are looked up.
-- `reach` are the marks of those who may find it, also among its `terms`; `codes` are the signs of its `vectors`.
CREATE TABLE search_documents (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    number BIGINT NOT NULL,
    version BIGINT NOT NULL,
    at BIGINT NOT NULL,
    reach TEXT NOT NULL,
    places TEXT NOT NULL,
    speaker TEXT NOT NULL,
    session_key TEXT,
    sequence BIGINT NOT NULL,
    length BIGINT NOT NULL,
    is_question BIGINT NOT NULL,
    model TEXT NOT NULL,
    codes BYTEA NOT NULL,
    label TEXT NOT NULL,
    terms TEXT NOT NULL,
    vectors BYTEA NOT NULL,
    PRIMARY KEY (account_id, kind, id)
);
CREATE UNIQUE INDEX search_documents_by_number ON search_documents (account_id, number);
CREATE INDEX search_documents_by_version ON search_documents (account_id, version);

-- The numbers of removed documents, so that readers forget them; the oldest are pruned.
CREATE TABLE search_removals (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    version BIGINT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (account_id, version)
); -- clustered

-- How far the index of an account was rebuilt from the journal: up to the entry `cursor`; what is older than `version`
-- when all entries are through belongs to none.
CREATE TABLE search_rebuilds (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    cursor BIGINT NOT NULL,
    version BIGINT NOT NULL,
    requested_at BIGINT NOT NULL,
    PRIMARY KEY (account_id)
);
INSERT INTO search_rebuilds (account_id, cursor, version, requested_at) SELECT id, 0, 0, 0 FROM accounts;

-- The index of words differs between the engines. Each has `search_words(match)`, which finds rows by their terms.
-- sqlite: CREATE VIRTUAL TABLE search_words USING fts5 (
-- sqlite:     terms, content='search_documents', content_rowid='number', detail='none', columnsize=0,
-- sqlite:     tokenize="ascii tokenchars '_'");
-- sqlite: CREATE TRIGGER search_words_added AFTER INSERT ON search_documents BEGIN
-- sqlite:     INSERT INTO search_words (rowid, terms) VALUES (new.number, new.terms);
-- sqlite: END;
-- sqlite: CREATE TRIGGER search_words_changed AFTER UPDATE OF terms ON search_documents WHEN old.terms <> new.terms BEGIN
-- sqlite:     INSERT INTO search_words (search_words, rowid, terms) VALUES ('delete', old.number, old.terms);
-- sqlite:     INSERT INTO search_words (rowid, terms) VALUES (new.number, new.terms);
-- sqlite: END;
-- sqlite: CREATE TRIGGER search_words_removed AFTER DELETE ON search_documents BEGIN
-- sqlite:     INSERT INTO search_words (search_words, rowid, terms) VALUES ('delete', old.number, old.terms);
-- sqlite: END;
-- The cost makes PostgreSQL use the index, whatever it thinks of the table; in SQL the function would be inlined.
-- postgresql: CREATE FUNCTION search_terms(terms text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE COST 10000 AS $$
-- postgresql:     BEGIN RETURN array_to_tsvector(string_to_array(terms, ' ')); END
-- postgresql: $$;
-- postgresql: CREATE INDEX search_documents_by_terms ON search_documents USING gin (search_terms(terms));
-- postgresql: CREATE FUNCTION search_words(match text) RETURNS TABLE (rowid bigint) LANGUAGE sql STABLE AS $$
-- postgresql:     SELECT number FROM search_documents WHERE search_terms(terms)
-- postgresql:     @@ CAST(replace(replace(replace(match, '"', ''''), ' AND ', ' & '), ' OR ', ' | ') AS tsquery)
-- postgresql: $$;
