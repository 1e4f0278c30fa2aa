// An application of Go's net/http/fcgi, which serves connections concurrently.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/fcgi"
	"os"
	"time"
)

func main() {
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		panic(err)
	}
	panic(fcgi.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(20 * time.Millisecond)
		body, _ := io.ReadAll(r.Body)
		sum := 0
		for _, value := range body {
			sum += int(value)
		}
		fmt.Fprintf(w, "%s %d %d", r.Method, len(body), sum)
	})))
}
