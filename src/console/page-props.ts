// What a page is given.
export interface PageProps {
  /** What follows the page's own path, e.g. an entry's id. */
  readonly rest: string;
}
