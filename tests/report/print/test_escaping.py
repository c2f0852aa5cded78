from __future__ import annotations

import pytest

from changeproof.report.formats import latex, markdown, plain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RobX robust-first", "RobX robust-first"),
        ("a_b $5$ 100% & #1", r"a\_b \$5\$ 100\% \& \#1"),
        ("{x}^~\\", r"\{x\}\textasciicircum{}\textasciitilde{}\textbackslash{}"),
        ("<script>|", r"\textless{}script\textgreater{}\textbar{}"),
        ("a--b", "a-{}-b"),
        ("a---b", "a-{}-{}-b"),
        ("[x]*", "{[}x]{*}"),
        ("APΔS λ", r"AP\ensuremath{\Delta}S \ensuremath{\lambda}"),
        ("4 ± 1", r"4 \ensuremath{\pm} 1"),
        ("60\N{EN DASH}64", "60{--}64"),
        ("żółć É ß", "żółć É ß"),
        ("方", "{[}U+65B9]"),
        ("\N{GREEK CAPITAL LETTER ALPHA}", "{[}U+0391]"),
        ("a\nb\x00", r"a b\textbackslash{}x00"),
    ],
)
def test_latex(text: str, expected: str) -> None:
    assert latex(text) == expected


def test_nothing_that_latex_acts_on_is_left() -> None:
    everything = "".join(map(chr, range(1, 0x3000)))
    escaped = latex(everything)
    for command in (r"\textbackslash{}", r"\ensuremath", r"\text", r"\$", r"\&", r"\#", r"\%"):
        escaped = escaped.replace(command, "")
    assert not set(escaped) & set("$&#%")
    assert escaped.isprintable()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", r"a\|b"),
        ("*a* _b_ `c`", r"\*a\* \_b\_ \`c\`"),
        ("<b> & [x](y)", r"&lt;b&gt; &amp; \[x\](y)"),
        ("$5$ 100%", r"\$5\$ 100%"),
        ("a\nb", "a b"),
        ("方法 APΔS", "方法 APΔS"),
    ],
)
def test_markdown(text: str, expected: str) -> None:
    assert markdown(text) == expected


def test_plain_is_one_printable_line() -> None:
    assert plain(" a\r\n b\t\x07 ") == r"a b \x07"
