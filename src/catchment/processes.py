"""Processes by name: what each calls itself in the store, and whether one that did is still there."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PIDS = Path("/proc/self/ns/pid")
_PARTS = 3


def owner_name() -> str:
    """`place:pid:random`: readable, unique, and enough to tell later whether the process is gone."""
    return f"{_place()}:{os.getpid()}:{secrets.token_hex(4)}"


def is_here(owner: str) -> bool:
    """Whether it is, or was, a process of this machine."""
    parts = owner.rsplit(":", 2)
    return len(parts) == _PARTS and parts[0] == _place()


def is_gone(owner: str) -> bool:
    """Whether it was a process of this machine that is there no more. Of other machines only a lease can tell."""
    if not is_here(owner):
        return False
    try:
        os.kill(int(owner.rsplit(":", 2)[1]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def shown_owner(owner: str) -> str:
    """For people, who know machines and pids."""
    parts = owner.rsplit(":", 2)
    if len(parts) != _PARTS:
        return owner
    return f"process {parts[1]} on {parts[0].partition('/')[0]}"


def _place() -> str:
    """Where a pid means the same process: this machine since it was started, and in containers this one of them.

    Host names do not tell, as copies of one machine or image often share theirs.
    """
    host = socket.gethostname()
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
        namespace = _PIDS.stat().st_ino
    except OSError:  # not on Linux
        return host
    return f"{host}/{boot[:8]}-{namespace}"
