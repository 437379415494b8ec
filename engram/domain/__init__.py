"""Pure rules: no files, no clock, no randomness, no package but `ahocorasick_rs`, a search for many words."""
