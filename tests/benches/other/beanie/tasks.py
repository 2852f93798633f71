"""The tasks of MongoDB's benchmark for ODMs by Beanie: `python tasks.py URI DATABASE TASK WAY`. For every line on standard input it
executes one block of the task and prints how long that took and its result, so that the benchmark can take turns with it."""

import asyncio
import json
import sys
import time
from typing import Optional

from beanie import Document, PydanticObjectId, init_beanie
from pydantic import BaseModel, create_model
from pymongo import AsyncMongoClient

BLOCK = 300
DOCUMENTS = 1000


def fields(first, last, kind):
    return {f"field{k}": (kind, ...) for k in range(first, last + 1)}


class ForeignKey(Document):
    name: str

    class Settings:
        name = "foreign_keys"


class OfSmall(Document):
    field_fk: Optional[PydanticObjectId] = None

    class Settings:
        name = "small"
        keep_nulls = False


class OfNested(Document):
    class Settings:
        name = "nested"


Small = create_model("Small", __base__=OfSmall, **fields(1, 7, str), **fields(8, 13, int))
Texts = create_model("Texts", __base__=BaseModel, unique_id=(int, ...), **fields(1, 15, str))
Numbers = create_model("Numbers", __base__=BaseModel, **fields(1, 15, int))
Nested = create_model(
    "Nested",
    __base__=OfNested,
    **{f"embedded_str_doc_{k}": (Texts, ...) for k in range(1, 6)},
    embedded_str_doc_array=(list[Texts], ...),
    **{f"embedded_int_doc_{k}": (Numbers, ...) for k in range(8, 15)},
)


def number(n, k):
    return (n * 7919 + k * 104729) % 100_000_000


def word(n, k):
    return f"{number(n, k):08}"


def text(n, k):
    return "abcdefghijklmnopqrstuv" + word(n, k)


def new_small(n):
    words = {f"field{k}": word(n, k) for k in range(1, 8)}
    return Small(**words, **{f"field{k}": number(n, k) for k in range(8, 14)})


def new_texts(n, at):
    return Texts(unique_id=100 * n + at, **{f"field{k}": text(n, 100 * at + k) for k in range(1, 16)})


def new_numbers(n, at):
    return Numbers(**{f"field{k}": number(n, 100 * at + k) for k in range(1, 16)})


def new_nested(n):
    return Nested(
        **{f"embedded_str_doc_{k}": new_texts(n, k) for k in range(1, 6)},
        embedded_str_doc_array=[new_texts(n, 6), new_texts(n, 7)],
        **{f"embedded_int_doc_{k}": new_numbers(n, k) for k in range(8, 15)},
    )


async def once(task, round, n, small, nested):
    """One operation of a task; gives a number of the document that it finds."""
    updated = f"updated_value{round}"
    if task == "small insert":
        await new_small(n).insert()
        return 0
    if task == "small update":
        await Small.find_one({"_id": small[n]["_id"]}).update({"$set": {"field1": updated}})
        return 0
    if task == "small find":
        return (await Small.get(small[n]["_id"])).field8
    if task == "small find by foreign key":
        return (await Small.find_one({"field_fk": small[n]["field_fk"]})).field8
    if task == "nested insert":
        await new_nested(n).insert()
        return 0
    if task == "nested update":
        update = {"$set": {"embedded_str_doc_1.field1": updated}}
        await Nested.find_one({"_id": nested[n]["_id"]}).update(update)
        return 0
    if task == "nested find":
        condition = {"embedded_str_doc_1.unique_id": 100 * n + 1}
    else:
        condition = {"embedded_str_doc_array.unique_id": 100 * n + 6}
    return (await Nested.find_one(condition)).embedded_int_doc_8.field1


async def main():
    uri, name, task, _ = sys.argv[1:]
    client = AsyncMongoClient(uri)
    database = client[name]
    await init_beanie(database=database, document_models=[ForeignKey, Small, Nested], skip_indexes=True)
    fields = {"_id": 1, "field_fk": 1}
    small, nested = [
        await database[collection].find({}, fields).sort("_id").limit(DOCUMENTS).to_list()
        for collection in ("small", "nested")
    ]
    round = 0
    # Read beside the loop, so that the driver's own tasks go on meanwhile.
    while await asyncio.to_thread(sys.stdin.readline):
        total = 0
        started = time.perf_counter()
        for at in range(BLOCK):
            total += await once(task, round, (round * BLOCK + at) % DOCUMENTS, small, nested)
        seconds = time.perf_counter() - started
        round += 1
        print(json.dumps({"seconds": seconds, "documents": BLOCK, "joined": 0, "sum": total}), flush=True)
    await client.close()


asyncio.run(main())
