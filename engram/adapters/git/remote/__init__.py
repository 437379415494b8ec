"""Talk to other repositories: fetch, push, clone, copy."""
