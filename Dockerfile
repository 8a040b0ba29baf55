# The image of the gateway. Build: docker build -t trivium .   Try it: docker run --rm -p 4000:4000 -e NODE_ENV= -e SANDBOX=on trivium
ARG NODE=24

FROM node:${NODE}-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build

FROM node:${NODE}-trixie-slim AS production
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Native code of other platforms comes with the package, and is left out.
RUN npm ci --omit=dev --ignore-scripts \
  && platform="$(node -p '`${process.platform}-${process.arch}`')" \
  && find node_modules/@photostructure/sqlite/prebuilds -mindepth 1 -maxdepth 1 ! -name "$platform*" -exec rm -rf {} +

FROM node:${NODE}-trixie-slim
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 DATABASE_URL=sqlite:/data/gateway.db
COPY --from=production /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/schema schema
COPY package.json package-lock.json LICENSE ./
RUN mkdir /data && chown node:node /data && ln -s /app/dist/main.js /usr/local/bin/trivium
USER node
VOLUME /data
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=3s --start-period=1h \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 4000}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# The program itself is the first process, and handles the signals.
ENTRYPOINT ["node", "--max-semi-space-size=32", "--heap-growing-percent=100", "dist/main.js"]
CMD ["start"]
