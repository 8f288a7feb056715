# The page of `willowbark serve` in a container: docs/how-to/put-it-on-a-public-host.md
FROM python:3.12-slim AS build
WORKDIR /source
COPY requirements-host.txt ./
RUN python -m venv /opt/willowbark && \
    /opt/willowbark/bin/pip install --no-cache-dir --require-hashes -r requirements-host.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY LICENSES ./LICENSES
COPY src ./src
COPY agents ./agents
COPY tools ./tools
COPY teams ./teams
RUN /opt/willowbark/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.12-slim
# Hugging Face Spaces run containers as user 1000
RUN useradd --uid 1000 --create-home willowbark && \
    mkdir /data && \
    chown willowbark:willowbark /data
COPY --from=build /opt/willowbark /opt/willowbark
ENV PATH=/opt/willowbark/bin:$PATH PYTHONUNBUFFERED=1 XDG_CACHE_HOME=/data/.cache PORT=7860
# by number, so that a host can see that it is not root
USER 1000
WORKDIR /data
VOLUME /data
EXPOSE 7860
# a connection is enough: without the token the page answers nothing else
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import os, socket; socket.create_connection(('127.0.0.1', int(os.environ['PORT'])), 4)"]
# a generated token would change with each start, and stand in the log
CMD ["sh", "-c", ": \"${WILLOWBARK_PAGE_TOKEN:?set it as a secret of the host, at least 16 letters and digits}\"; exec willowbark serve --host 0.0.0.0 --port \"$PORT\""]
