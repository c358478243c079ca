-- Notes of people, found by their words: without regard to English endings, and with every word counting.
CREATE TEXT SEARCH DICTIONARY notes_stems (TEMPLATE = snowball, LANGUAGE = english);
CREATE TEXT SEARCH CONFIGURATION notes_words (COPY = simple);
ALTER TEXT SEARCH CONFIGURATION notes_words ALTER MAPPING FOR asciiword, word, numword WITH notes_stems;
CREATE TABLE notes (
    principal text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    project text NOT NULL,
    title text NOT NULL,
    content text NOT NULL,
    plain boolean NOT NULL,
    tags text[] NOT NULL,
    created double precision NOT NULL,
    changed double precision NOT NULL,
    read_before text[] NOT NULL,
    words tsvector NOT NULL,
    PRIMARY KEY (principal, id),
    UNIQUE (principal, project, title)
);
CREATE INDEX notes_by_words ON notes USING gin (words);
