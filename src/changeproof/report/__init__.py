"""From a finished run to tables, pictures and a page."""
