# The server, for SQLite in the volume /data or for PostgreSQL. Built in two steps: the image has no build tools.

FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY client client
COPY estimator estimator
COPY server server
COPY migrations migrations
RUN python -m venv /opt/dither && /opt/dither/bin/pip install --no-cache-dir '.[server,postgres]'

FROM python:3.13-slim
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
