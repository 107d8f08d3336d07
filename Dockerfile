# boxpen on the CPU:
#
#     docker build --build-arg PIP_EXTRA_INDEX_URL=URL -t boxpen .
#     docker run --rm --user "$(id -u):$(id -g)" -v boxpen-cache:/cache -v "$PWD:/work" boxpen run
#
# --user: runs go to the folder you are in, so they must be written as you. Any user may write to
# the volume of the cache; one of an earlier image belongs to user 1000: remove it.
# URL: an index with the CPU wheels of PyTorch; without it, the image has those for CUDA.
FROM python:3.11-slim-bookworm

ARG PIP_EXTRA_INDEX_URL=""
ENV BOXPEN_CACHE=/cache \
    HOME=/cache \
    USER=boxpen \
    PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src ./src
RUN python -m pip install --no-cache-dir -c constraints.txt ".[hf,mt,review]"

# A new volume takes the mode of its folder in the image.
RUN useradd --home-dir /cache --uid 1000 boxpen \
    && mkdir /cache /work \
    && chown boxpen:boxpen /work \
    && chmod 1777 /cache
USER 1000:1000
WORKDIR /work
VOLUME ["/cache"]
ENTRYPOINT ["boxpen"]
CMD ["--help"]
