"""The server under load: is every answer right or an honest 503, does memory stay flat, how long does an answer take?

    python -m benchmarks.server_load --clients 200 --seconds 30

Starts `whyalike serve` as a process of its own. Every client asks again as soon as it has its answer or its 503 (with
`--patient`, when Retry-After has passed), each time for another pair of 16 tokens, so that nothing is answered from what is
kept. Latency is set against the library's own call, timed in the same run before the load begins.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import whyalike
from benchmarks.run import RESULTS, machine, text_of


def resident(pid: int) -> float:
    """Resident memory of a process, in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def pair(number: int) -> dict[str, str]:
    return {"left": text_of(16, number), "right": text_of(16, number + 10**6)}


async def client(address: str, until: float, seed: int, patient: bool, answers: list[tuple[int, float, Any]]) -> None:
    draw = random.Random(seed)
    # A pool of its own: finding a connection in one that 200 share takes longer than the answer.
    async with httpx.AsyncClient(base_url=address, timeout=120, verify=False) as http:
        while time.monotonic() < until:
            number = draw.randrange(10**9)
            start = time.monotonic()
            answer = await http.post("/api/explain", json=pair(number))
            said = answer.json()
            kept = (number, said["score"], said["matrix"]) if answer.status_code == 200 else said["error"]["type"]
            answers.append((answer.status_code, time.monotonic() - start, kept))
            if answer.status_code == 503 and patient:
                await asyncio.sleep(float(answer.headers["retry-after"]) * draw.random())


async def load(address: str, clients: int, seconds: float, patient: bool) -> list[tuple[int, float, Any]]:
    answers: list[tuple[int, float, Any]] = []
    until = time.monotonic() + seconds
    await asyncio.gather(*(client(address, until, seed, patient, answers) for seed in range(clients)))
    return answers


def latencies(address: str, count: int) -> list[float]:
    """One client, one request at a time."""
    found = []
    with httpx.Client(base_url=address, timeout=120) as http:
        for number in range(count):
            start = time.perf_counter()
            http.post("/api/explain", json=pair(5 * 10**8 + number)).raise_for_status()
            found.append(time.perf_counter() - start)
    return found


def same(number: int, score: float, matrix: list[list[float]], encoder: whyalike.Encoder) -> bool:
    """Is that what the library answers?"""
    e = whyalike.explain(**pair(number), encoder=encoder, unit="word")
    return abs(e.score - score) < 1e-5 and np.allclose(e.matrix, matrix, atol=1e-5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--checked", type=int, default=100, help="answers that are compared with the library's")
    parser.add_argument(
        "--patient", action="store_true", help="after a 503, wait as Retry-After says before asking again"
    )
    given = parser.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    server = subprocess.Popen([sys.executable, "-m", "whyalike.cli", "serve", "--port", str(port)])
    try:
        for _ in range(600):
            try:
                httpx.get(f"{address}/healthz")
                break
            except httpx.ConnectError:
                time.sleep(0.1)
        encoder = whyalike.load_encoder()
        latencies(address, 3)
        alone, library = latencies(address, 20), []
        for number in range(20):
            start = time.perf_counter()
            whyalike.explain(**pair(6 * 10**8 + number), encoder=encoder)
            library.append(time.perf_counter() - start)
        before = resident(server.pid)
        answers = asyncio.run(load(address, given.clients, given.seconds, given.patient))
        after = resident(server.pid)
        right = [kept for status, _, kept in answers if status == 200]
        some = random.Random(0).sample(right, min(given.checked, len(right)))
        wrong = [number for number, score, matrix in some if not same(number, score, matrix, encoder)]
        waited = [seconds for status, seconds, _ in answers if status == 200]
        health = httpx.get(f"{address}/healthz").json()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=20)
    one = statistics.median(library)
    result = {
        "command": "python -m benchmarks.server_load " + " ".join(sys.argv[1:]),
        "machine": machine(),
        "answers": dict(Counter(str(status) for status, _, _ in answers)),
        "reasons_for_503": dict(Counter(kept for status, _, kept in answers if status == 503)),
        "checked_with_the_library": len(some),
        "wrong": len(wrong),
        "library_p50_seconds": one,
        "one_client_p50_over_library": statistics.median(alone) / one,
        "under_load_p50_over_library": statistics.median(waited) / one,
        "answers_per_second": len(right) / given.seconds,
        "memory_mib": {"before": round(before), "after": round(after)},
        "waiting_afterwards": health["waiting"],
    }
    (RESULTS / "server_load.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    if wrong or any(status not in (200, 503) for status, _, _ in answers):
        sys.exit("Some answers were wrong.")


if __name__ == "__main__":
    main()
