# The image runs what `npm start` runs, as an ordinary user. Without DATABASE_URL it keeps an embedded database in /data.

FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# This Node runs TypeScript by itself.
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force && rm -r node_modules/@swc

FROM node:24-slim
# Two arenas for all threads: glibc would keep what each of them has freed.
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=8000 \
    DATA_DIR=/data \
    MALLOC_ARENA_MAX=2
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY sql ./sql
COPY workers ./workers
COPY console ./console
COPY server ./server
COPY demo ./demo
# The clocks and the dice that the demo shares with the simulator, which is not in the image.
COPY simulator/kept.ts simulator/random.ts simulator/zones.ts ./simulator/
# A named volume takes over owner and mode of the directory it is mounted on.
RUN mkdir -m 0700 /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8000
# After a kill, the embedded database may have to repeat its last changes before it is ready.
HEALTHCHECK --interval=5s --timeout=5s --start-period=120s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/readyz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# No shell, npm or init in between: node itself gets SIGTERM, finishes what it has begun and exits 0 within 36 s.
STOPSIGNAL SIGTERM
CMD ["node", "server/main.ts"]
