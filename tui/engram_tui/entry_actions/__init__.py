"""Commands on entries that several screens share: judging, editing, archiving, tagging, forgetting."""
