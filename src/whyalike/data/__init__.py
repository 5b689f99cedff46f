"""Data that users and public sets bring: tables, pairs, alignments, truths, word vectors."""
