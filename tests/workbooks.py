"""A workbook, read as what it is: XML in a ZIP file."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
PACKAGE = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


class Sheet:
    """The cells of a sheet: kind, text and style by address."""

    def __init__(self, root: ElementTree.Element) -> None:
        self.root = root
        self.cells = {
            cell.get("r", ""): (cell.get("t"), "".join(cell.itertext()), int(cell.get("s", 0)))
            for cell in root.iter(f"{MAIN}c")
        }
        self.formulas = list(root.iter(f"{MAIN}f"))

    def text(self, address: str) -> str:
        return self.cells[address][1]


def read(path: Path) -> dict[str, Sheet]:
    with ZipFile(path) as file:
        book = ElementTree.fromstring(file.read("xl/workbook.xml"))
        related = ElementTree.fromstring(file.read("xl/_rels/workbook.xml.rels"))
        where = {each.get("Id"): each.get("Target") for each in related}
        return {
            sheet.get("name", ""): Sheet(
                ElementTree.fromstring(file.read(f"xl/{where[sheet.get(f'{PACKAGE}id')]}"))
            )
            for sheet in book.iter(f"{MAIN}sheet")
        }
