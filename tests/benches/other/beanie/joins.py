"""The joins by Beanie: `python joins.py URI DATABASE QUERY`. For every line on standard input it carries out the query once
and prints how long that took and what came out of it, so that the benchmark can take turns with it."""

import asyncio
import json
import sys
import time
from datetime import datetime

from beanie import Document, Link, PydanticObjectId, init_beanie
from pymongo import AsyncMongoClient


class Part(Document):
    partno: str
    name: str
    qty: int
    price: float

    class Settings:
        name = "parts"


class Maker(Document):
    name: str
    city: str
    since: int

    class Settings:
        name = "makers"


class WithParts(Document):
    """Beanie stores a link as a DBRef, so it has products of its own, which differ in nothing else."""

    name: str
    catalog_number: int
    maker: PydanticObjectId
    parts: list[Link[Part]]

    class Settings:
        name = "products_with_linked_parts"


class WithMaker(Document):
    name: str
    catalog_number: int
    maker: Link[Maker]
    parts: list[PydanticObjectId]

    class Settings:
        name = "products_with_linked_maker"


class Host(Document):
    name: str
    ipaddr: str

    class Settings:
        name = "hosts"


class LogMsg(Document):
    time: datetime
    pid: int
    message: str
    host: PydanticObjectId

    class Settings:
        name = "logmsg"


async def parts():
    return await WithParts.find(fetch_links=True).to_list()


async def parts_one_by_one():
    products = await WithParts.find().to_list()
    await asyncio.gather(*(product.fetch_all_links() for product in products))
    return products


async def maker():
    return await WithMaker.find(fetch_links=True).to_list()


async def newest(host):
    return host, await LogMsg.find(LogMsg.host == host.id).sort(-LogMsg.time).limit(10).to_list()


async def messages():
    hosts = await Host.find().to_list()
    return await asyncio.gather(*(newest(host) for host in hosts))


# Each query, and what is counted and summed of what it joins.
QUERIES = {
    "parts": (parts, lambda product: product.parts, lambda part: part.qty),
    "parts one by one": (parts_one_by_one, lambda product: product.parts, lambda part: part.qty),
    "maker": (maker, lambda product: [product.maker], lambda maker: maker.since),
    "messages": (messages, lambda row: row[1], lambda message: message.pid),
}


async def main():
    uri, database, name = sys.argv[1:]
    query, joined, number = QUERIES[name]
    client = AsyncMongoClient(uri)
    await init_beanie(
        database=client[database],
        document_models=[Part, Maker, WithParts, WithMaker, Host, LogMsg],
        skip_indexes=True,
    )
    # Read beside the loop, so that the driver's own tasks go on meanwhile.
    while await asyncio.to_thread(sys.stdin.readline):
        started = time.perf_counter()
        documents = await query()
        seconds = time.perf_counter() - started
        found = [document for row in documents for document in joined(row)]
        outcome = {
            "seconds": seconds,
            "documents": len(documents),
            "joined": len(found),
            "sum": sum(map(number, found)),
        }
        print(json.dumps(outcome), flush=True)
    await client.close()


asyncio.run(main())
