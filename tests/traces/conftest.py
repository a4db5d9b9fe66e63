"""Lists of jobs and machines in files, and what is remarked of them."""

import gzip
import json

import pytest

from optsched.process import messages


@pytest.fixture
def write(tmp_path):
    """Write a text, bytes or JSON into a file; a text is packed if the name ends in .gz."""

    def _write(content, name="list.csv"):
        path = tmp_path / name
        data = content
        if not isinstance(content, bytes):
            data = (content if isinstance(content, str) else json.dumps(content, indent=1)).encode()
            data = gzip.compress(data, mtime=0) if name.endswith(".gz") else data
        path.write_bytes(data)
        return path

    return _write


@pytest.fixture
def remarks(monkeypatch):
    """Return what is remarked, as it comes."""
    told = []
    monkeypatch.setattr(messages, "remark", told.append)
    return told
