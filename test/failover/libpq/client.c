// An application with libpq: a thread for each connection, which writes again
// and again, and connects anew when libpq says that the connection is gone.
//
//	client DSN CONNECTIONS PAUSE_MS
//
// It says each outcome in a line: the connection's number, "=SERVER" or the
// SQLSTATE or "connection", with "!" before it when there was no connection at all, and the time in milliseconds since 1970.
//
// The prototypes are those of libpq-fe.h, so that libpq.so.5 is enough to build it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
extern PGconn *PQconnectdb(const char *conninfo);
extern void PQfinish(PGconn *conn);
extern int PQstatus(const PGconn *conn);
extern PGresult *PQexec(PGconn *conn, const char *query);
extern int PQresultStatus(const PGresult *res);
extern char *PQresultErrorField(const PGresult *res, int field);
extern char *PQgetvalue(const PGresult *res, int row, int column);
extern void PQclear(PGresult *res);

enum { CONNECTION_OK = 0, PGRES_TUPLES_OK = 2, PG_DIAG_SQLSTATE = 'C' };

static const char *dsn;
static long pause_ms;

static void say(long i, const char *sign, const char *outcome)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	printf("%ld %s%s %lld.%03ld\n", i, sign, outcome, t.tv_sec * 1000LL + t.tv_nsec / 1000000, t.tv_nsec / 1000 % 1000);
}

static void rest(void)
{
	struct timespec t = {pause_ms / 1000, pause_ms % 1000 * 1000000};
	nanosleep(&t, NULL);
}

// hold writes on one connection until it is gone. An error alone is no end.
static void hold(long i)
{
	char query[160];
	snprintf(query, sizeof query, "INSERT INTO written VALUES (%ld, clock_timestamp()) RETURNING current_setting('cluster_name')", i);
	PGconn *conn = PQconnectdb(dsn);
	if (PQstatus(conn) != CONNECTION_OK)
		say(i, "!", "connection");
	while (PQstatus(conn) == CONNECTION_OK) {
		PGresult *res = PQexec(conn, query);
		const char *code = PQresultErrorField(res, PG_DIAG_SQLSTATE);
		if (PQresultStatus(res) == PGRES_TUPLES_OK)
			say(i, "=", PQgetvalue(res, 0, 0));
		else
			say(i, "", code ? code : "connection");
		PQclear(res);
		if (PQstatus(conn) == CONNECTION_OK) // else live rests
			rest();
	}
	PQfinish(conn);
}

static void *live(void *number)
{
	for (;;) {
		hold((long)number);
		rest();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: client DSN CONNECTIONS PAUSE_MS\n");
		return 2;
	}
	dsn = argv[1];
	pause_ms = atol(argv[3]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (long i = 0; i < atol(argv[2]); i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, live, (void *)i) != 0) {
			perror("pthread_create");
			return 1;
		}
	}
	pthread_exit(NULL);
}
