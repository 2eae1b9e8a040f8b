package clusters

const importKind = "PgBouncerAurora"
