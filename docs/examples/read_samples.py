"""Reads a page of samples with a client that knows every path and type:

    pip install openapi-python-client
    openapi-python-client generate --url http://localhost:8000/openapi.json --meta none --output-path pulsebase
    python read_samples.py http://localhost:8000 sk-… <user id>
"""

import sys
from uuid import UUID

from pulsebase import AuthenticatedClient
from pulsebase.api.timeseries import get_timeseries
from pulsebase.models import SamplePage, SeriesType

base_url, key, user = sys.argv[1:]
client = AuthenticatedClient(base_url=base_url, token=key, prefix="", auth_header_name="X-Service-API-Key")

page = get_timeseries.sync(
    UUID(user),
    client=client,
    start_time="2026-02-24",
    end_time="2026-02-24",
    types=[SeriesType.HEART_RATE],
    limit=2,
)
if not isinstance(page, SamplePage):
    sys.exit(str(page))

for sample in page.data:
    print(f"{sample.timestamp:%Y-%m-%dT%H:%M:%SZ} {sample.value:g} {sample.unit} {sample.source.provider}")
print(f"{len(page.data)} of {page.pagination.total_count}")
