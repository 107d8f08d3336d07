# boxpen on the CPU:
#
#     docker build --build-arg PIP_EXTRA_INDEX_URL=URL -t boxpen .
#     docker run --rm -v boxpen-cache:/cache -v "$PWD:/work" boxpen run
#
# URL: an index with the CPU wheels of PyTorch; without it, the image has those for CUDA.
FROM python:3.11-slim-bookworm

ARG PIP_EXTRA_INDEX_URL=""
ENV BOXPEN_CACHE=/cache \
    PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src ./src
RUN python -m pip install --no-cache-dir -c constraints.txt ".[hf,mt,review]"

RUN useradd --create-home --uid 1000 boxpen \
    && mkdir /cache /work \
    && chown boxpen:boxpen /cache /work
USER 1000:1000
WORKDIR /work
VOLUME ["/cache"]
ENTRYPOINT ["boxpen"]
CMD ["--help"]
