// Go's net/http/fcgi. Usage: peer NETWORK ADDRESS, as of net.Listen.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/fcgi"
	"os"
)

func main() {
	listener, err := net.Listen(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fcgi.Serve(listener, http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		response.Header().Set("Content-Type", "text/plain")
		response.Header().Set("Content-Length", "13")
		io.WriteString(response, "Hello, world!")
	}))
}
