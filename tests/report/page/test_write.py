from __future__ import annotations

import base64
import gzip
import json

from changeproof.report.page.write import embedded, packed


def test_nothing_in_embedded_json_can_end_a_script() -> None:
    nasty = {"</script><script>alert(1)</script>": ["<!--", "a & b", "line\u2028and\u2029"]}
    text = embedded(nasty)
    for forbidden in "<>&\u2028\u2029":
        assert forbidden not in text
    assert json.loads(text) == nasty


def test_packed_comes_back_and_is_always_the_same() -> None:
    content = '[{"name": "ü<", "values": [1.5, null]}]'
    assert gzip.decompress(base64.b64decode(packed(content))).decode() == content
    assert packed(content) == packed(content)
