# The server in a container; the model is mounted, so that one image serves any.
#
#   docker build --tag seq2set .
#   docker run --publish 127.0.0.1:8000:8000 --volume "$PWD/runs/demo/seq2set:/model:ro" \
#     --volume seq2set-feedback:/feedback seq2set
#
# Set SEQ2SET_API_KEY (docker run --env SEQ2SET_API_KEY) before others can reach the port.

FROM python:3.11-slim

ENV PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# pip reads these where they are given, such as an index that has torch for CPUs only, which is much smaller.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL

WORKDIR /build
# The largest part first: it stays in the cache while the code changes.
COPY constraints.txt ./
RUN pip install --constraint constraints.txt torch
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --constraint constraints.txt '.[serve,train]'

# Whoever breaks into the server finds no rights, and can write to the feedback only.
RUN useradd --system --uid 10001 --no-create-home seq2set \
 && mkdir /model /feedback \
 && chown seq2set /feedback
WORKDIR /feedback
USER seq2set
VOLUME /feedback
EXPOSE 8000

HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]

ENTRYPOINT ["seq2set", "serve"]
CMD ["/model", "--host", "0.0.0.0", "--port", "8000", "--feedback", "/feedback/feedback.sqlite"]
