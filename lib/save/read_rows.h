/*
 * lib/save/read_rows.h - the lines of tables of rows, read
 */
#ifndef LIB_SAVE_READ_ROWS_H
#define LIB_SAVE_READ_ROWS_H

struct reader;

/*
 * reader_table() and reader_row() read a line of a table of rows, after its
 * first word; reader_end_tables() insists that the last table is complete.
 */
void reader_table(struct reader *reader);
void reader_row(struct reader *reader);
void reader_end_tables(struct reader *reader);

#endif
