"""The store of runs on S3 or a server that speaks its protocol; boto3 is loaded when a store is opened.

Credentials, region and endpoint are boto3's own (`AWS_*`, an IAM role); `FAITHLINE_S3_ENDPOINT` names the endpoint
where the standard variables must stay unset. Every request is bounded in time and tried several times with back-off;
small bodies carry an MD5 that the server checks, every part of a large one a checksum; a body that breaks off is read
again.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar

from faithline.pipeline.errors import ConfigError, EnvironmentMismatch, PipelineError, Preempted
from faithline.store.objects import ABSENT, Entry, Object

__all__ = ["S3Store"]

T = TypeVar("T")
MIB = 1024**2
SINGLE_BYTES = 32 * MIB
"""Up to this an object is sent in one request, whose MD5 the server checks."""
PART_BYTES = 32 * MIB
ATTEMPTS = 5
"""boto3's own tries of one request; a body that breaks off is read this often besides."""
_MISSING = {"404", "NoSuchKey", "NotFound"}
_REFUSED = {"412", "409", "PreconditionFailed", "ConditionalRequestConflict"}
_FORBIDDEN = {"403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "AllAccessDisabled"}
_PASSING = {"429", "BadDigest", "IncompleteBody", "RequestTimeout", "RequestTimeTooSkewed", "SlowDown", "NoSuchUpload"}
"""Client errors that a second try may cure; any other client error is a fault of settings."""
_LASTING_TLS = ("CERTIFICATE_VERIFY_FAILED", "WRONG_VERSION_NUMBER")
"""Failures of TLS that no second try cures."""


class S3Store:
    """Objects below a prefix of a bucket."""

    def __init__(self, url: str, bucket: str, prefix: str) -> None:
        self._url = url
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._client = _client(os.environ)

    @property
    def url(self) -> str:
        """The address, without credentials."""
        return self._url

    def read(self, key: str) -> Object | None:
        """Return an object's content."""

        def attempt() -> Object:
            response = self._client.get_object(**self._at(key))
            content = response["Body"].read()
            return Object(content, response["ETag"].strip('"'), _now(response) - response["LastModified"].timestamp())

        return self._unless_missing(attempt, key)

    def write(self, key: str, content: bytes, *, expect: str | None = None) -> bool:
        """Write an object in one request; two writers that meet count as a refusal."""
        condition = {} if expect is None else {"IfNoneMatch": "*"} if expect == ABSENT else {"IfMatch": expect}
        try:
            self._call(lambda: self._client.put_object(**self._at(key), Body=content, **condition), key)
        except (_Refused, _Missing):
            return False
        return True

    def stat(self, key: str) -> Entry | None:
        """Describe an object."""
        found = self._unless_missing(lambda: self._client.head_object(**self._at(key)), key)
        if found is None:
            return None
        return Entry(key, found["ContentLength"], self._md5(found), found["LastModified"].timestamp())

    def list(self, prefix: str) -> Iterator[Entry]:
        """Describe objects, page by page."""
        request = {"Bucket": self._bucket, "Prefix": self._prefix + prefix}
        more: Mapping[str, str] = {}
        while True:
            page = self._call(lambda more=more: self._client.list_objects_v2(**request, **more), prefix)  # type: ignore[misc]
            for found in page.get("Contents", []):
                key = found["Key"][len(self._prefix) :]
                yield Entry(key, found["Size"], None, found["LastModified"].timestamp())
            if not page.get("IsTruncated"):
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def upload(self, key: str, path: Path, md5: str | None = None) -> None:
        """Send a file; a large one in parts, which are removed if it fails."""
        if path.stat().st_size > SINGLE_BYTES:
            self._call(lambda: self._client.upload_file(str(path), **self._at(key), Config=_transfer()), key)
            return
        content = path.read_bytes()
        extra = {} if md5 is None else {"ContentMD5": base64.b64encode(bytes.fromhex(md5)).decode()}
        self._call(lambda: self._client.put_object(**self._at(key), Body=content, **extra), key)

    def download(self, key: str, path: Path) -> bool:
        """Fetch an object; boto3 writes to a temporary name and renames it."""

        def attempt() -> bool:
            self._client.download_file(Filename=str(path), **self._at(key), Config=_transfer())
            return True

        return self._unless_missing(attempt, key) is not None

    def delete(self, key: str) -> None:
        """Remove an object."""
        self._call(lambda: self._client.delete_object(**self._at(key)), key)

    def clear_uploads(self, prefix: str, older_than_s: float) -> int:
        """Abort old multipart uploads; their parts cost money until then."""
        page = self._call(
            lambda: self._client.list_multipart_uploads(Bucket=self._bucket, Prefix=self._prefix + prefix), prefix
        )
        cleared = 0
        for upload in page.get("Uploads", []):
            if (datetime.now(UTC) - upload["Initiated"]).total_seconds() >= older_than_s:
                named = {"Bucket": self._bucket, "Key": upload["Key"], "UploadId": upload["UploadId"]}
                self._call(lambda named=named: self._client.abort_multipart_upload(**named), prefix)  # type: ignore[misc]
                cleared += 1
        return cleared

    def _md5(self, head: Mapping[str, Any]) -> str | None:
        """Return the content's MD5 from the ETag; it is something else for parts, KMS keys and directory buckets."""
        etag = str(head["ETag"]).strip('"')
        keyed = head.get("SSECustomerAlgorithm") or str(head.get("ServerSideEncryption", "")).startswith("aws:kms")
        plain = len(etag) == 32 and set(etag) <= set("0123456789abcdef")
        return etag if plain and not keyed and not self._bucket.endswith("--x-s3") else None

    def _at(self, key: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._prefix + key}

    def _unless_missing(self, call: Callable[[], T], key: str) -> T | None:
        try:
            return self._call(call, key)
        except _Missing:
            return None

    def _call(self, call: Callable[[], T], key: str) -> T:
        """Call the client; read broken-off bodies again, and say what is wrong in the project's own terms."""
        import botocore.exceptions as raised
        import urllib3.exceptions as broken
        from boto3.exceptions import Boto3Error

        torn = (raised.IncompleteReadError, raised.ResponseStreamingError, raised.FlexibleChecksumError, Boto3Error)
        where = f"s3://{self._bucket}/{self._prefix}{key}"
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return call()
            except raised.ClientError as error:
                raise _meaning(error.response, where) from None
            except (raised.NoCredentialsError, raised.PartialCredentialsError) as error:
                raise ConfigError(
                    f"no S3 credentials: {error}",
                    where=where,
                    next_step="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the pod a role",
                ) from None
            except raised.SSLError as error:
                if any(reason in str(error) for reason in _LASTING_TLS):
                    raise EnvironmentMismatch(
                        f"the store's endpoint cannot be trusted or speaks no TLS: {error}",
                        where=where,
                        next_step="correct http or https in AWS_ENDPOINT_URL, or set AWS_CA_BUNDLE",
                    ) from None
                raise _unreachable(f"SSLError: {error}", where) from None
            except (raised.ParamValidationError, raised.InvalidRegionError) as error:
                raise ConfigError(f"S3 settings are wrong: {error}", where=where) from None
            except (raised.BotoCoreError, Boto3Error, broken.HTTPError) as error:
                cause = error.__cause__ or error.__context__
                if isinstance(cause, raised.ClientError):
                    raise _meaning(cause.response, where) from None
                whole = isinstance(error, raised.BotoCoreError) and not isinstance(error, torn)
                if whole or attempt == ATTEMPTS:
                    raise _unreachable(f"{type(error).__name__}: {error}", where) from None
                time.sleep(min(0.1 * 2**attempt, 2.0))
        raise AssertionError("the last attempt returns or raises")


class _Missing(PipelineError):
    """There is no such object."""


class _Refused(PipelineError):
    """A condition did not hold."""


def _client(environment: Mapping[str, str]) -> Any:
    import boto3
    from botocore.config import Config

    endpoint = environment.get("FAITHLINE_S3_ENDPOINT") or None
    own = endpoint or environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    try:
        return boto3.Session().client(
            "s3",
            endpoint_url=endpoint,
            region_name=region or ("us-east-1" if own else None),
            config=Config(
                connect_timeout=10,
                read_timeout=60,
                retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
                max_pool_connections=32,
                tcp_keepalive=True,
                # Own servers are addressed by host alone; names of buckets are no host names there.
                s3={"addressing_style": "path" if own else "auto"},
            ),
        )
    except ValueError as error:
        raise ConfigError(f"the S3 endpoint is no address: {error}", where="AWS_ENDPOINT_URL") from None


def _transfer() -> Any:
    from boto3.s3.transfer import TransferConfig

    return TransferConfig(multipart_threshold=SINGLE_BYTES, multipart_chunksize=PART_BYTES, max_concurrency=4)


def _now(response: Mapping[str, Any]) -> float:
    stamp = response["ResponseMetadata"]["HTTPHeaders"].get("date")
    return parsedate_to_datetime(stamp).timestamp() if stamp else time.time()


def _meaning(response: Mapping[str, Any], where: str) -> PipelineError:
    code = str(response.get("Error", {}).get("Code", ""))
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    text = f"{code}: {response.get('Error', {}).get('Message', '')}".rstrip(": ")
    if code == "NoSuchBucket":
        return ConfigError("the bucket does not exist", where=where, next_step="create it, or correct --store")
    if code in _MISSING:
        return _Missing(text, where=where)
    if code in _REFUSED:
        return _Refused(text, where=where)
    if code in _FORBIDDEN:
        return EnvironmentMismatch(
            f"S3 refuses access: {text}", where=where, next_step="check the credentials and the bucket's policy"
        )
    if 400 <= status < 500 and code not in _PASSING:
        return EnvironmentMismatch(f"S3 refuses the request: {text}", where=where)
    return _unreachable(text, where)


def _unreachable(text: str, where: str) -> Preempted:
    return Preempted(f"the store does not answer well: {text}", where=where, next_step="run it again later")
