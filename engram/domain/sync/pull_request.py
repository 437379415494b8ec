"""The web address that opens a pull request from one branch to another, for known hosts."""

from __future__ import annotations

import re
from urllib.parse import quote

_SOURCE, _TARGET = "merge_request%5Bsource_branch%5D", "merge_request%5Btarget_branch%5D"
# Words in a host's name, and what follows the repository's address on such a host.
_FORMS = (
    (("github",), "/compare/{base}...{head}?expand=1"),
    (("gitlab",), "/-/merge_requests/new?" + _SOURCE + "={head_value}&" + _TARGET + "={base_value}"),
    (("bitbucket",), "/pull-requests/new?source={head_value}&dest={base_value}"),
    (("codeberg", "gitea", "forgejo"), "/compare/{base}...{head}"),
)
_SCP = re.compile(r"(?:[^@/\s]+@)?([A-Za-z0-9.-]+):(?!/)(.+)")
_URL = re.compile(r"(?:https?|ssh|git)://(?:[^@/\s]*@)?([A-Za-z0-9.-]+)(?::[0-9]+)?/(.+)")


def pull_request_address(remote_url: str, base: str, head: str) -> str:
    """Return the address for proposing to merge `head` into `base`; "" for an unknown host."""
    found = _URL.fullmatch(remote_url) or _SCP.fullmatch(remote_url)
    if found is None:
        return ""
    host, path = found[1].lower(), found[2].strip("/").removesuffix(".git")
    for words, form in _FORMS:
        if "/" in path and any(word in host for word in words):
            return f"https://{host}/{quote(path)}" + form.format(
                base=quote(base), head=quote(head),
                base_value=quote(base, safe=""), head_value=quote(head, safe=""),
            )  # fmt: skip
    return ""
