"""Commands on entries that several screens share: judge, edit, archive, tag, forget."""
