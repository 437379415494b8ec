"""Where a person opens a pull request from one branch to another, on the hosts whose form of that address is known."""

from __future__ import annotations

import re
from urllib.parse import quote

_SOURCE, _TARGET = "merge_request%5Bsource_branch%5D", "merge_request%5Btarget_branch%5D"
# Words in a host's name, and what follows the repository's address there.
_FORMS = (
    (("github",), "/compare/{base}...{head}?expand=1"),
    (("gitlab",), "/-/merge_requests/new?" + _SOURCE + "={head_value}&" + _TARGET + "={base_value}"),
    (("bitbucket",), "/pull-requests/new?source={head_value}&dest={base_value}"),
    (("codeberg", "gitea", "forgejo"), "/compare/{base}...{head}"),
)
_SCP = re.compile(r"(?:[^@/\s]+@)?([A-Za-z0-9.-]+):(?!/)(.+)")
_URL = re.compile(r"(?:https?|ssh|git)://(?:[^@/\s]*@)?([A-Za-z0-9.-]+)(?::[0-9]+)?/(.+)")


def pull_request_address(remote_url: str, base: str, head: str) -> str:
    """Return the address at which to ask for `head` to be merged into `base`; "" for a host that is not known."""
    found = _URL.fullmatch(remote_url) or _SCP.fullmatch(remote_url)
    if found is None:
        return ""
    host, path = found[1].lower(), found[2].strip("/").removesuffix(".git")
    for words, form in _FORMS:
        if path.count("/") >= 1 and any(word in host for word in words):
            said = {"base": quote(base), "head": quote(head)}
            said |= {
                f"{name}_value": quote(value, safe="") for name, value in (("base", base), ("head", head))
            }
            return f"https://{host}/{quote(path)}" + form.format(**said)
    return ""
