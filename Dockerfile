# docker build -t sklar .
# docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/data" sklar schema draft people.csv -o people.toml
# The studio listens on the address 127.0.0.1 only, so it needs the network of the host (Linux):
# docker run --rm -it --network host --user "$(id -u):$(id -g)" -v "$PWD:/data" sklar studio --no-browser
FROM python:3.12-slim
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir ".[sql,files,eval,studio,sign,postgres]" pandas
# A mounted folder belongs to any user: caches go where every user may write, and no home is needed.
ENV HOME=/tmp NUMBA_CACHE_DIR=/tmp/numba MPLCONFIGDIR=/tmp/matplotlib
RUN useradd --create-home custodian
USER custodian
WORKDIR /data
ENTRYPOINT ["sklar"]
CMD ["--help"]
