# docker build -t sklar .    docker run --rm -v "$PWD:/data" sklar schema draft people.csv -o people.toml
FROM python:3.12-slim
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir ".[sql,files,eval]"
RUN useradd --create-home custodian
USER custodian
WORKDIR /data
ENTRYPOINT ["sklar"]
CMD ["--help"]
