# The server, for SQLite in the volume /data or for PostgreSQL. Built in two steps: the image has no build tools.
# Every package is the one that locks/ names, by its hash, and the base is held to a digest (that of all platforms).
# Another base: docker build --build-arg PYTHON=python:3.13-slim

ARG PYTHON=python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

FROM ${PYTHON} AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY locks locks
COPY client client
COPY estimator estimator
COPY server server
COPY migrations migrations
RUN pip install --no-cache-dir --require-hashes --requirement locks/build.txt \
    && pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir wheels . \
    && python -m venv /opt/dither \
    && /opt/dither/bin/pip install --no-cache-dir --require-hashes --requirement locks/image.txt \
    && /opt/dither/bin/pip install --no-cache-dir --no-deps --no-index wheels/*.whl

FROM ${PYTHON}
RUN useradd --system --create-home --uid 10001 dither && install --directory --owner dither --mode 0700 /data
COPY --from=build /opt/dither /opt/dither
ENV PATH=/opt/dither/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    DITHER_HOST=0.0.0.0 \
    DITHER_PORT=8000 \
    DITHER_DATABASE=sqlite:////data/dither.sqlite \
    DITHER_LOG_FORMAT=json
USER dither
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
CMD ["dither", "serve"]
