"""The page that draws the app in a browser, and the pages of refusals. Nothing is loaded from elsewhere."""

from __future__ import annotations

from html import escape
from string import Template

from aiohttp import web

NOT_KNOWN = "The address with the token opens the app once. Run engram tui --web again for a new one."
STATIC = "static/"  # under the root: the terminal of textual-serve, in JavaScript
SOCKET = "ws"

# The terminal's script uses this font; text in it makes the browser load the font before cells are measured.
_FRAME = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>$title</title>
$head
<style>
@font-face { font-family: "Roboto Mono"; src: url("static/fonts/RobotoMono-VariableFont_wght.ttf"); font-weight: 100 700; }
@font-face { font-family: "Roboto Mono"; font-style: italic;
  src: url("static/fonts/RobotoMono-Italic-VariableFont_wght.ttf"); font-weight: 100 700; }
html, body { height: 100%; margin: 0; background: #12161c; color: #d8dee9; font: 16px "Roboto Mono", monospace; }
.textual-terminal { height: 100vh; }
.message { position: fixed; inset: 0; display: flex; align-items: center; justify-content: center; text-align: center; }
a { color: inherit; }
body.-first-byte .opening, .over { display: none; }
body.-closed .over { display: flex; background: #12161ce6; z-index: 10; }
</style>
</head>
<body>
$body
</body>
</html>
""")
_APP = Template("""<div class="message opening">Opening …</div>
<div class="message over"><p>The app has ended.<br><a href="">Open it again</a></p></div>
<div id="terminal" class="textual-terminal" data-session-websocket-url="$socket" data-font-size="$size"></div>""")
_HEAD = """<link rel="stylesheet" href="static/css/xterm.css">
<script src="page.js"></script>
<script src="static/js/textual.js"></script>"""
SCRIPT = "page.js"
_SCRIPT = """window.open = () => null; // links are shown, never followed
new MutationObserver((_changes, watching) => { // keys go to the app as soon as it is there
  const keys = document.querySelector(".xterm-helper-textarea");
  if (keys && document.body.classList.contains("-first-byte")) {
    keys.focus();
    watching.disconnect();
  }
}).observe(document, { subtree: true, attributeFilter: ["class"] });
"""
_FONT_SIZE, _SMALLEST, _LARGEST = 16, 6, 72


def of_app(request: web.Request, title: str) -> web.Response:
    """Return the page that draws the app; `?fontsize=20` gives larger letters."""
    size = _number(request.query.get("fontsize", ""), _FONT_SIZE, _SMALLEST, _LARGEST)
    socket = f"ws://{request.host}{request.path}{SOCKET}"
    return _html(_FRAME.substitute(
        title=escape(title), head=_HEAD, body=_APP.substitute(socket=escape(socket), size=size)
    ))  # fmt: skip


def script() -> web.Response:
    """Return the script of the page."""
    return web.Response(text=_SCRIPT, content_type="text/javascript")


def refusal(status: int, sentence: str) -> web.Response:
    """Return a page that says why there is no app."""
    body = f'<div class="message"><p>{escape(sentence)}</p></div>'
    return _html(_FRAME.substitute(title="Engram", head="", body=body), status)


async def harden(request: web.Request, answer: web.StreamResponse) -> None:
    """Set the headers of every answer: no foreign content, no framing, no caching, no referrer."""
    own = f"ws://{request.host}" if answer.status < 400 else "'none'"
    answer.headers["Content-Security-Policy"] = (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
        f"img-src data:; connect-src {own}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    answer.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    answer.headers["Referrer-Policy"] = "no-referrer"
    answer.headers["X-Content-Type-Options"] = "nosniff"


def _html(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, content_type="text/html", status=status)


def _number(text: str, otherwise: int, least: int, most: int) -> int:
    return min(most, max(least, int(text))) if text.isdecimal() and len(text) < 5 else otherwise
